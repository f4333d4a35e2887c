import { exec } from '@parley/servers/exec';
import { bridge } from '../../src/addresses.ts';
import { folders } from '../../src/folders.ts';
import { command } from '../../src/process.ts';

/** The cluster's table of nftables, in `src/host-network.ts`. `down` removes it with everything in it. */
const table = 'ip parley_cluster';
/** The time after which a port is reachable again even if the story was killed. */
const longest = '10m';

/**
 * Drops all packets from pods to a port of this machine until the returned object is disposed of. To the pods, it seems that no host has
 * the address of the port. Packets from processes of this machine are not dropped.
 */
export async function unreachable(port: number): Promise<AsyncDisposable> {
  const nft = command(folders.tools, 'packages', 'nft');
  const run = (...commands: string[]) => exec(nft, [commands.join('; ')]);
  await run(
    `add set ${table} away { type inet_service ; flags timeout ; }`,
    `add chain ${table} away { type filter hook input priority -10 ; policy accept ; }`,
    `flush chain ${table} away`,
    `flush set ${table} away`, // a killed story may not have removed its port from the table
    `add rule ${table} away iifname ${bridge} tcp dport @away drop`,
    `add element ${table} away { ${port} timeout ${longest} }`,
  );
  return {
    async [Symbol.asyncDispose]() {
      await run(`delete element ${table} away { ${port} }`);
    },
  };
}
