import test, { type ExecutionContext } from 'ava';
import type { EngineName } from '../engine.ts';
import { engines } from '../engines.ts';
import { foldersOf } from '../folders.ts';
import { isInstalled } from '../install.ts';

/**
 * Declares a test that needs these servers. If one of them is not installed, the test is skipped, with the reason in its title. Under `CI`,
 * the test fails in this case, because all servers must be installed there.
 */
export function serverTest(needed: EngineName[], title: string, run: (t: ExecutionContext) => Promise<void>): void {
  const { tools } = foldersOf(process.env);
  const absent = engines.filter((engine) => needed.includes(engine.name) && !isInstalled(engine, tools));
  if (absent.length === 0) {
    test.serial(title, run);
    return;
  }
  const why = `not installed: ${absent.map((engine) => engine.title).join(', ')} (scripts/servers up)`;
  if (process.env.CI) test(title, (t) => t.fail(why));
  else test.skip(`${title} - ${why}`, run);
}
