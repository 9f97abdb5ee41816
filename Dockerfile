# Built in two stages: what builds the package stays out of the image that runs it.
FROM python:3.13-slim AS build
# TRACES=yes adds the packages of OpenTelemetry: docs/monitoring.md
ARG TRACES=no
# FILES=yes adds the packages for thumbnails and buckets: docs/attachments.md
ARG FILES=no
# BACKUP=yes adds pg_dump and pg_restore, with the embedded servers that have them: docs/operate.md
ARG BACKUP=no
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements/ requirements/
RUN python -m venv /opt/tenantry \
    && if [ "$TRACES" = yes ]; then locked=traces; else locked=server; fi \
    && /opt/tenantry/bin/pip install --require-hashes -r "requirements/$locked.txt" \
    && if [ "$FILES" = yes ]; then /opt/tenantry/bin/pip install --require-hashes -r requirements/files.txt; fi \
    && if [ "$BACKUP" = yes ]; then /opt/tenantry/bin/pip install --require-hashes -r requirements/run.txt; fi \
    && pip install --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY tools/build_wheel.py tools/
COPY tenantry/ tenantry/
COPY domain/ domain/
COPY application/ application/
COPY adapters/ adapters/
COPY entrypoints/ entrypoints/
RUN pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/tenantry/bin/pip install --no-deps --no-index dist/*.whl \
    && /opt/tenantry/bin/pip uninstall --yes pip

FROM python:3.13-slim
RUN groupadd --system --gid 10001 tenantry \
    && useradd --system --uid 10001 --gid 10001 --create-home --home-dir /var/lib/tenantry tenantry
COPY --from=build /opt/tenantry /opt/tenantry
ENV PATH=/opt/tenantry/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    TENANTRY_HOST=0.0.0.0 \
    TENANTRY_PORT=8000 \
    TENANTRY_DATA_DIR=/var/lib/tenantry
# a number: Kubernetes cannot tell that a name is not root
USER 10001:10001
# A project that is copied or mounted here is served: its tenantry.toml names its entities.
WORKDIR /project
VOLUME /var/lib/tenantry
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"TENANTRY_PORT\"]}/health/live', timeout=2)"]
CMD ["tenantry", "serve"]
