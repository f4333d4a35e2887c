import { execFileSync } from 'node:child_process';
import type { EngineName } from '@parley/servers/engine';
import { foldersOf } from '@parley/servers/folders';
import { toxiproxy } from '@parley/servers/go-tool';
import { serverTest } from '@parley/servers/testing/server-test';
import { isInstalled } from '@parley/servers/tool';
import test, { type ExecutionContext } from 'ava';

/**
 * A test that needs Toxiproxy, which its first user installs, and perhaps servers. Where the machine can have none it is left
 * out and its title says why; under `CI` it fails.
 */
export function toxiproxyTest(needed: EngineName[], title: string, run: (t: ExecutionContext) => Promise<void>): void {
  if (isInstalled(toxiproxy, foldersOf(process.env).tools) || hasGo()) {
    serverTest(needed, title, async (t) => {
      t.timeout(300_000, 'with a build of Toxiproxy');
      await run(t);
    });
    return;
  }
  const why = 'not installed: Toxiproxy, and there is no Go to build it';
  if (process.env.CI) test(title, (t) => t.fail(why));
  else test.skip(`${title} - ${why}`, run);
}

function hasGo(): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v go'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
