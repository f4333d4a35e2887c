/**
 * Loaded into every unit of `scripts/up --mesh` before its own code: writes what Node has compiled to NODE_COMPILE_CACHE as soon as
 * the supervisor says that the unit is ready. At its end it may be killed, and the next one would compile the same again.
 */
import { flushCompileCache } from 'node:module';

process.once('message', () => flushCompileCache());
