/**
 * Loaded into every unit of `scripts/up --mesh` before the unit's code. Writes Node's compiled code to NODE_COMPILE_CACHE as soon as the
 * supervisor reports that the unit is ready, because a unit that is killed later would not write it at its end.
 */
import { flushCompileCache } from 'node:module';

process.once('message', () => flushCompileCache());
