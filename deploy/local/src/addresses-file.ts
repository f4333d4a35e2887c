import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Addresses } from '@parley/kernel/addresses';
import type { Part } from '@parley/kernel/unit';

/** In the data folder while a mesh runs there: where each unit listens, e.g. `{"session": {"rpc": "127.0.0.1:40123"}}`. */
export const addressesFile = 'addresses.json';

/** Tells other processes of this person where the units are. After a sudden death the file stays until the next start. */
export function tellAddresses(dataFolder: string, addresses: Addresses): Part {
  const file = join(dataFolder, addressesFile);
  return {
    name: addressesFile,
    async start() {
      // Written beside and moved, so that nobody reads half of it; rights are those of the file that is made.
      const draft = `${file}.${process.pid}`;
      await rm(draft, { force: true });
      await writeFile(draft, `${JSON.stringify(addresses.announced(), null, 2)}\n`, { mode: 0o600 });
      await rename(draft, file);
    },
    stop: () => rm(file, { force: true }),
  };
}
