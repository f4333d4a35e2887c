import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { root } from './root.ts';
import { rpcCommand } from './rpc/command.ts';

const enough = new AbortController();
process.once('SIGINT', () => enough.abort());
process.once('SIGTERM', () => enough.abort());
// `scripts/rpc … | head` has read enough as well.
process.stdout.on('error', () => enough.abort());

process.exitCode = await rpcCommand(process.argv.slice(2), {
  env: process.env,
  protos: join(root, 'protos'),
  dataFolder: resolve(root, process.env.PARLEY_DATA_DIR || '.parley'),
  terminal: { stdout: process.stdout, stderr: process.stderr, readInput: () => text(process.stdin) },
  signal: enough.signal,
});
