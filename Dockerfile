# The dashboard for a team: headless, behind a proxy that speaks TLS and asks who comes. See docs/dashboard.md.
FROM python:3.11-slim

RUN useradd --create-home advisor
WORKDIR /home/advisor
COPY pyproject.toml hatch_build.py README.md /build/
COPY src /build/src
COPY pricing_data /build/pricing_data
COPY benchmarks /build/benchmarks
RUN pip install --no-cache-dir '/build[dashboard]' && rm -rf /build

USER advisor
ENV ADVISOR_DATA_HOME=/home/advisor/data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
# Inside a container "all addresses" is the container's own network: publish the port to the proxy only.
ENTRYPOINT ["advisor", "app", "--address", "0.0.0.0", "--port", "8501"]
