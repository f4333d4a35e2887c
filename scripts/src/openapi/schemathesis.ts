import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { tools } from '../install-tool.ts';

/** Calls an HTTP API with valid and invalid requests that are generated from its OpenAPI document. */
export const schemathesis = {
  name: 'schemathesis',
  version: '4.32.5',
  folder: 'schemathesis-4.32.5-1',
  scripts: join(import.meta.dirname, 'schemathesis'),
};

/** Runs `schemathesis run` in a folder for its files. @returns its exit code and what it printed */
export function runSchemathesis(args: string[], cwd: string): Promise<{ code: unknown; output: string }> {
  const env = { ...process.env, PYTHONPATH: join(tools, schemathesis.folder), PYTHONDONTWRITEBYTECODE: '1' };
  const command = ['--pdeathsig', 'KILL', 'python3', '-m', 'schemathesis.cli', 'run', '--no-color', ...args];
  return new Promise((resolve) => {
    execFile('setpriv', command, { cwd, env, maxBuffer: 64 * 2 ** 20 }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, output: stdout + stderr });
    });
  });
}
