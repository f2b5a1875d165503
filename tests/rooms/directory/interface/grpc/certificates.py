"""A certificate authority for tests, and what it signs: servers by name, workloads by SPIFFE id."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Issued:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def key_pem(self) -> bytes:
        return self._key(serialization.Encoding.PEM)

    @property
    def key_der(self) -> bytes:
        return self._key(serialization.Encoding.DER)

    def _key(self, encoding: serialization.Encoding) -> bytes:
        plain = serialization.NoEncryption()
        return self.key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        certificate.write_bytes(self.pem)
        key.write_bytes(self.key_pem)
        return certificate, key


class Authority:
    """Signs certificates."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        basic = x509.BasicConstraints(ca=True, path_length=None)
        self.root = Issued(_signed(name, name, self._key, self._key, [(basic, True)]), self._key)

    def server(self) -> Issued:
        """For localhost."""
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return self._issue("localhost", x509.SubjectAlternativeName(names))

    def workload(self, spiffe_id: str) -> Issued:
        return self._issue("workload", x509.SubjectAlternativeName([x509.UniformResourceIdentifier(spiffe_id)]))

    def _issue(self, common_name: str, names: x509.SubjectAlternativeName) -> Issued:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        issuer = self.root.certificate.subject
        return Issued(_signed(subject, issuer, key, self._key, [(names, False)]), key)


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    extensions: list[tuple[x509.ExtensionType, bool]],
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(signer, hashes.SHA256())
