/**
 * Loaded into every unit of `scripts/up --mesh` before its own code: sends it SIGTERM when its parent process has
 * ended for any reason. It acts on import, for `node --import`.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref(); // the channel alone does not keep the process running
