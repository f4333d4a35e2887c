import { exec } from '@parley/servers/exec';
import { bridge } from '../../src/addresses.ts';
import { folders } from '../../src/folders.ts';
import { command } from '../../src/process.ts';

/**
 * Drops what pods send to a port of this machine until it is disposed: they get no answer, as from an address that is gone. What
 * processes of this machine send is not dropped.
 */
export async function unreachable(port: number): Promise<AsyncDisposable> {
  const nft = command(folders.tools, 'packages', 'nft');
  const table = `parley_away_${port}`;
  const run = (...args: string[]) => exec(nft, args);
  await run('add', 'table', 'inet', table);
  await run('add', 'chain', 'inet', table, 'input', '{ type filter hook input priority -10 ; policy accept ; }');
  await run('add', 'rule', 'inet', table, 'input', 'iifname', bridge, 'tcp', 'dport', String(port), 'drop');
  return {
    async [Symbol.asyncDispose]() {
      await run('delete', 'table', 'inet', table);
    },
  };
}
