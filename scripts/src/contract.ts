/**
 * Compares the supergraph with gateway/contract.json, which says what the contract of the public API asks of each operation, and
 * both with the contract itself, which is kept outside this repository.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readSettings } from '@parley/kernel/config';
import { commandSettings } from '@parley/local/command-settings';
import { readContract } from '@parley/stories/contract';
import { readFieldRules } from '../../gateway/src/graph/field-rules.ts';
import { differences, unlikeDocument } from './contract/differences.ts';
import { root } from './root.ts';

const contract = readContract();
const supergraph = 'gateway/supergraph.graphql';
const problems = differences(contract, readFieldRules(readFileSync(join(root, supergraph), 'utf8')));

const folder = resolve(root, readSettings(process.env, commandSettings).contractFolder);
const program = join(folder, 'check.mjs');
if (existsSync(program)) {
  problems.push(...unlikeDocument(contract, JSON.parse(readFileSync(join(folder, 'operations.json'), 'utf8'))));
  const needed = [...contract].filter(([, { served }]) => served).map(([name]) => name.slice(name.indexOf('.') + 1));
  const args = [program, supergraph, '--need', needed.join(',')];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} else {
  console.log(
    'compared with gateway/contract.json alone: the contract is not beside this checkout (PARLEY_CONTRACT_DIR)',
  );
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
