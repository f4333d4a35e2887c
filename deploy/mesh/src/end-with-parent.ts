/**
 * `scripts/up --mesh` loads this module into every unit before the unit's code, with `node --import`. The module sends SIGTERM to the unit
 * when its parent process has ended for any reason.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref(); // the channel to the parent must not keep the process running
