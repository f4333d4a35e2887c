import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

/**
 * Resource totals since the start of a system, by name. Names that begin with `CPU` or `pauses` are in ms, memory and disk in KB, and all
 * others are counts.
 */
export type Reading = Record<string, number>;

/** A process that is counted with its descendants. Each process that runs a unit is counted under the unit's name. */
export interface Root {
  name: string;
  pid: number;
}

/** The length of the kernel's clock tick, in ms. The kernel counts CPU times in ticks. */
export const tickMs = 10;

/**
 * Returns the CPU times of a process including its ended children, or of a thread. The list is empty if the process or thread has ended.
 */
function timesIn(folder: string): { name: string; user: number; system: number }[] {
  try {
    const [, name = '', rest = ''] = /\((.*)\) (.*)/su.exec(readFileSync(`${folder}/stat`, 'utf8')) ?? [];
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = rest.split(' ').slice(11, 15).map(Number);
    const ms = (own: number, ofChildren: number) => (own + (folder.includes('/task/') ? 0 : ofChildren)) * tickMs;
    return [{ name, user: ms(user, childUser), system: ms(system, childSystem) }];
  } catch {
    return [];
  }
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** Returns a process and all its descendants. */
function familyOf(pid: number): number[] {
  const children = globSync(`/proc/${pid}/task/*/children`).flatMap((file) => textOf(file).trim().split(' '));
  return [pid, ...children.filter(Boolean).flatMap((child) => familyOf(Number(child)))];
}

/** Lists a process and its descendants. Keeps only those whose command line matches the pattern and whose environment contains the text. */
export function processesOf(pid: number, command: RegExp, setting = ''): number[] {
  const isMeant = (each: number) =>
    command.test(textOf(`/proc/${each}/cmdline`)) && textOf(`/proc/${each}/environ`).includes(setting);
  return familyOf(pid).filter(isMeant);
}

const unitOf = (pid: number) => /([\w-]+)\/src\/main\.ts/u.exec(textOf(`/proc/${pid}/cmdline`))?.[1];

/**
 * Returns the CPU times of the given processes: the total, user and system time, and the time of each process. If there is only one
 * process, returns the time of each of its threads instead of each process.
 */
export function cpuOf(roots: Root[]): Reading {
  const reading: Reading = { CPU: 0, 'CPU, user': 0, 'CPU, system': 0 };
  const add = (name: string, ms: number) => void (reading[name] = (reading[name] ?? 0) + ms);
  const processes = roots.flatMap(({ name, pid }) =>
    familyOf(pid).map((each) => ({ name: unitOf(each) ?? name, pid: each })),
  );
  for (const { name, pid } of processes) {
    for (const { user, system } of timesIn(`/proc/${pid}`)) {
      add('CPU', user + system);
      add('CPU, user', user);
      add('CPU, system', system);
      if (processes.length > 1) add(`CPU of ${name}`, user + system);
    }
  }
  const [only] = processes;
  if (only && processes.length === 1) {
    for (const thread of globSync(`/proc/${only.pid}/task/*`)) {
      for (const { name, user, system } of timesIn(thread)) add(`CPU of thread ${name}`, user + system);
    }
  }
  return reading;
}

/** The properties of a mesh that are needed to read its counts. */
export interface CountedMesh {
  pid: number;
  units: Record<string, { ops?: string | undefined }>;
  /** The mesh's folder for temporary files, in which its processes write their counts. */
  temporary: string;
}

/**
 * Returns the counts of a mesh: the counts of the meters in its processes, the number of served gRPC calls, and the size of all entries so
 * far in the database's write-ahead log.
 */
export async function countsOf({ pid, units, temporary }: CountedMesh, databaseUrl: string): Promise<Reading> {
  const reading: Reading = { 'gRPC calls': 0 };
  for (const { ops } of Object.values(units)) {
    const metrics = ops ? await (await fetch(`${ops}/metrics`)).text() : '';
    const calls = metrics.matchAll(/^parley_rpc_duration_seconds_count\{.*method="(.*?)".*\} (\d+)$/gmu);
    for (const [, method, count] of calls) {
      if (!method?.startsWith('/grpc.')) reading['gRPC calls'] = (reading['gRPC calls'] ?? 0) + Number(count);
    }
  }
  for (const each of processesOf(pid, /node\0.*\.ts\0/su, temporary)) {
    const file = join(temporary, `${each}.json`);
    rmSync(file, { force: true });
    process.kill(each, 'SIGWINCH');
    while (!existsSync(file)) await delay(2);
    const counts: Reading = JSON.parse(readFileSync(file, 'utf8'));
    for (const [name, count] of Object.entries(counts)) reading[name] = (reading[name] ?? 0) + count;
  }
  reading['written to the log of the database'] = (await logBytes(databaseUrl)) / 1024;
  return reading;
}

async function logBytes(connectionString: string): Promise<number> {
  const client = new Client({ connectionString });
  await client.connect();
  const { rows } = await client.query("SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes");
  await client.end();
  return Number(rows[0].bytes);
}

/** Returns the URL of the embedded database of a one-process mesh. @param temporary the mesh's folder for temporary files */
export function embeddedUrl(temporary: string): string {
  const [folder = ''] = globSync(join(temporary, 'parley-db-*'));
  return `postgresql://postgres@localhost:5432/postgres?sslmode=disable&host=${encodeURIComponent(folder)}`;
}
