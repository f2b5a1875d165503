# docker build -t pentad .
# docker run --name pentad -p 127.0.0.1:8700:8700 -v pentad:/data pentad
# Other arguments are those of the command `pentad`: `docker run --rm -i -v pentad:/data pentad mcp serve`.
FROM python:3.11-slim AS build
RUN python -m venv /opt/pentad
COPY requirements.lock /src/
RUN /opt/pentad/bin/pip install --no-cache-dir --no-compile --no-deps --require-hashes -r /src/requirements.lock
COPY pyproject.toml README.md LICENSE /src/
COPY src /src/src
RUN /opt/pentad/bin/pip install --no-cache-dir --no-compile --no-deps /src && /opt/pentad/bin/pip uninstall --yes pip

FROM python:3.11-slim
RUN useradd --create-home pentad && install -d -o pentad /data
COPY --from=build /opt/pentad /opt/pentad
ENV PATH=/opt/pentad/bin:$PATH PENTAD_DATA=/data PENTAD_HOST=0.0.0.0 PENTAD_PROGRAM="docker exec -it pentad pentad"
USER pentad
VOLUME /data
EXPOSE 8700 8888
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8700/healthz', timeout=4)"]
ENTRYPOINT ["pentad"]
CMD ["serve"]
