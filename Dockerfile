# An image whose arguments are those of `pentad`: `docker run --rm -i IMAGE mcp serve`, or
# `docker run -p 8700:8700 -v pentad:/data IMAGE serve --host 0.0.0.0`.
FROM python:3.11-slim
RUN useradd --create-home pentad && install -d -o pentad /data
COPY requirements.lock /tmp/
RUN pip install --no-cache-dir --require-hashes -r /tmp/requirements.lock
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
RUN pip install --no-cache-dir --no-deps /src
USER pentad
ENV PENTAD_DATA=/data
VOLUME /data
EXPOSE 8700 8888
ENTRYPOINT ["pentad"]
