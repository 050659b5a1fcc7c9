/**
 * The container's HEALTHCHECK: exit code 0 while this container's process answers /health/live.
 * A process that serves listens on PORT, one that only works on OUTLAY_WORK_PORT. Readiness would
 * mark every container unhealthy while the database restarts; load balancers ask for it themselves.
 */
const ports = [process.env.PORT || '8080', process.env.OUTLAY_WORK_PORT || '8081'];
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
