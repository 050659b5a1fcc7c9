/**
 * The container's HEALTHCHECK: exit code 0 while this container's process answers /health/live, at the port
 * of its health thread, or at that of the process (PORT, or OUTLAY_WORK_PORT) where that is switched off. Readiness would
 * mark every container unhealthy while the database restarts; load balancers ask for it themselves.
 */
const { OUTLAY_HEALTH_PORT: health, OUTLAY_WORK_PORT: work, PORT: serve } = process.env;
const ports = health ? [health] : [serve || '8080', work || '8081'];
const isLive = async (port) => {
  const answer = await fetch(`http://127.0.0.1:${port}/health/live`, {
    signal: AbortSignal.timeout(4_000),
  });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
};
try {
  await Promise.any(ports.map(isLive));
} catch (error) {
  process.stderr.write(
    `${error.errors.map(({ message, cause }) => cause?.code ?? message).join(', ')}\n`,
  );
  process.exitCode = 1;
}
