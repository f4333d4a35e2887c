import { exec } from '@parley/servers/exec';
import { bridge } from '../../src/addresses.ts';
import { folders } from '../../src/folders.ts';
import { command } from '../../src/process.ts';

/** The cluster's table of nftables, in `src/host-network.ts`. `down` removes it, so no rule of a killed story remains. */
const table = 'parley_cluster';

/**
 * Drops all packets from pods to a port of this machine until it is disposed, as if the port's address were gone. Packets from processes of
 * this machine are not dropped.
 */
export async function unreachable(port: number): Promise<AsyncDisposable> {
  const nft = command(folders.tools, 'packages', 'nft');
  const chain = `ip ${table} away_${port}`;
  const run = (...commands: string[]) => exec(nft, [commands.join('; ')]);
  await run(
    `add chain ${chain} { type filter hook input priority -10 ; policy accept ; }`,
    `flush chain ${chain}`, // a killed story may have left its rule
    `add rule ${chain} iifname ${bridge} tcp dport ${port} drop`,
  );
  return {
    async [Symbol.asyncDispose]() {
      await run(`flush chain ${chain}`, `delete chain ${chain}`);
    },
  };
}
