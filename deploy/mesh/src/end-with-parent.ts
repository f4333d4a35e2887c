/**
 * Loaded into every unit of `scripts/up --mesh` before its own code: ends it in good order when the process that started it is
 * gone, however that ended. It acts on import because that is what `node --import` can do.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref(); // who has nothing more to do ends
