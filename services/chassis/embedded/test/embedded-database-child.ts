import { lockFolder } from '../src/embedded-lock.ts';

/** The child process in tests of the embedded database. It reports its progress on stdout. */
const [task, folder = '', snapshot = ''] = process.argv.slice(2);

async function write(): Promise<void> {
  const { startEmbeddedDatabase } = await import('../src/embedded.ts');
  const { default: knexFactory } = await import('knex');
  const { url } = await startEmbeddedDatabase({ folder, snapshot });
  const pool = knexFactory({ client: 'pg', connection: url, pool: { min: 0, max: 4 } });
  await pool.raw('CREATE TABLE IF NOT EXISTS written (id integer PRIMARY KEY, filler text)');
  const [{ next }] = (await pool.raw('SELECT coalesce(max(id), 0) + 1 AS next FROM written')).rows;
  let id: number = next;
  async function writer(): Promise<void> {
    for (;;) {
      const mine = id++;
      await pool.transaction(async (transaction) => {
        await transaction.raw('INSERT INTO written VALUES (?, ?)', [mine, 'x'.repeat(2000)]);
      });
      process.stdout.write(`${mine}\n`);
    }
  }
  await Promise.all([writer(), writer(), writer(), writer()]);
}

async function hold(): Promise<void> {
  const { startEmbeddedDatabase } = await import('../src/embedded.ts');
  await startEmbeddedDatabase({ folder, snapshot });
  process.stdout.write('started\n');
  process.stdin.resume();
}

function lock(): void {
  process.stdout.write('waiting\n');
  process.stdin.once('data', () => {
    try {
      lockFolder(folder, '', () => {});
      process.stdout.write('taken\n');
    } catch (error) {
      process.stdout.write(`${error instanceof Error ? error.message : error}\n`);
    }
  });
}

if (task === 'write') await write();
else if (task === 'hold') await hold();
else lock();
