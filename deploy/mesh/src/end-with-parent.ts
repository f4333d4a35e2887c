/**
 * Loaded into every unit of `scripts/up --mesh` before the unit's code. Sends SIGTERM to the unit when its parent process has ended for any
 * reason. The file acts on import, for `node --import`.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref(); // the channel alone must not keep the process running
