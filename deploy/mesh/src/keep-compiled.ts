/**
 * `scripts/up --mesh` loads this module into every unit before the unit's code. The module writes Node's compiled code to
 * NODE_COMPILE_CACHE as soon as the supervisor reports that the unit is ready. By default, Node writes this code when the process ends, and
 * a killed unit would not write it.
 */
import { flushCompileCache } from 'node:module';

process.once('message', () => flushCompileCache());
