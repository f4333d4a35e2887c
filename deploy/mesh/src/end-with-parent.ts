/**
 * Loaded into every unit of `scripts/up --mesh` before its own code: stops it regularly when its parent process has ended, in
 * whatever way. It acts on import, for `node --import`.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref(); // the channel alone does not keep the process running
