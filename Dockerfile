# The dashboard and the `certcore` command on the embedded bundles.
#
#   docker build -t certcore .
#   docker run --rm -p 127.0.0.1:8501:8501 certcore
#
# Training, voting and Dask workers need torch, which is large and therefore left out unless asked for:
#
#   docker build -t certcore:train --build-arg WITH_TORCH=1 .

FROM python:3.11-slim-bookworm AS build
ARG WITH_TORCH=0
# Anything pip should be told besides, for example the address of a mirror.
ARG PIP_OPTIONS=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv /opt/venv
# Dependencies before code: a change of the code does not install them again.
COPY requirements.txt requirements.lock requirements-train.txt ./
RUN /opt/venv/bin/python -m pip install $PIP_OPTIONS --require-hashes -r requirements.lock
# A layer of its own: asking for torch later does not install the rest again.
# hadolint ignore=DL3059
RUN if [ "$WITH_TORCH" = 1 ]; then /opt/venv/bin/python -m pip install $PIP_OPTIONS -r requirements-train.txt; fi
COPY pyproject.toml setup.py README.md LICENSE ./
# With torch, also what trains and votes.
COPY experiments with-torch/experiments
RUN if [ "$WITH_TORCH" != 1 ]; then rm -r with-torch/experiments; fi
COPY certcore certcore
RUN /opt/venv/bin/python -m pip install $PIP_OPTIONS --no-deps .

FROM python:3.11-slim-bookworm
# Everything that is written goes to /data: downloads, tables, checkpoints of votes, uploaded instances.
RUN useradd --system --uid 10001 --user-group --no-create-home --home-dir /data certcore \
    && mkdir -p /data && chown certcore:certcore /data
COPY --from=build /opt/venv /opt/venv
WORKDIR /app
COPY --from=build /src/with-torch ./
COPY LICENSE ./
COPY .streamlit .streamlit
COPY precomputed precomputed
COPY docs/explanation/what-a-certificate-says.md docs/explanation/what-a-certificate-says.md
COPY docs/reference/words.md docs/reference/words.md
COPY pages pages
COPY app.py ./
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/data \
    CERTCORE_CACHE=/data/cache \
    CERTCORE_IMPORTS=/data/imported \
    NUMBA_CACHE_DIR=/data/cache/numba \
    MPLCONFIGDIR=/data/cache/matplotlib
# By number, so that a host can tell that it is not root.
USER 10001
VOLUME /data
EXPOSE 8501
# The engine is asked too, not only the web server; strangers may ask this much.
HEALTHCHECK --interval=60s --timeout=30s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/api/health', timeout=25)"]
# The only place that listens on all addresses: outside, publish the port to the addresses you mean.
CMD ["python", "app.py", "--server.address=0.0.0.0", "--server.port=8501"]
