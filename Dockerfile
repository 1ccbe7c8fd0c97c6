# The service; compose.yaml starts it with PostgreSQL. Build: docker build -t discreet .
FROM python:3.12-slim
RUN useradd --create-home --uid 10001 discreet
WORKDIR /srv
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt '.[service,postgres,arviz,signing]'
RUN mkdir kept && chown discreet kept
USER discreet
ENV PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
VOLUME /srv/kept
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=30s --start-period=60s \
  CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=25)"
# The owner sets it up once: docker compose run --rm service discreet service init /srv/kept/service
CMD ["discreet", "serve", "/srv/kept/service", "--host", "0.0.0.0", "--workers", "2"]
