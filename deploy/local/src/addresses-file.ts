import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Addresses } from '@parley/kernel/processes/addresses';
import type { Part } from '@parley/kernel/processes/unit';

/**
 * The name of a file in the data folder of a running mesh. It contains the addresses of each unit, e.g. `{"session": {"rpc":
 * "127.0.0.1:40123"}}`.
 */
export const addressesFile = 'addresses.json';

/** Writes the units' addresses to the file for other processes of the same user. After a crash, the file stays until the next start. */
export function publishAddresses(dataFolder: string, addresses: Addresses): Part {
  const file = join(dataFolder, addressesFile);
  return {
    name: addressesFile,
    async start() {
      // The file is written under a temporary name and then renamed, so that no reader sees an incomplete file. An old temporary file is
      // deleted first, because `mode` applies only to new files.
      const draft = `${file}.${process.pid}`;
      await rm(draft, { force: true });
      await writeFile(draft, `${JSON.stringify(addresses.announced(), null, 2)}\n`, { mode: 0o600 });
      await rename(draft, file);
    },
    stop: () => rm(file, { force: true }),
  };
}
