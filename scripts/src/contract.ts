/**
 * Compares the supergraph with gateway/contract.json, which contains the public API's contract for each operation. Also compares
 * both with the contract itself, which is kept outside this repository.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readSettings } from '@parley/kernel/settings/config';
import { readContract } from '@parley/stories/contract';
import { commandSettings } from '@parley/units/command-settings';
import { readFieldRules } from '../../gateway/src/graph/field-rules.ts';
import { type DocumentedOperation, differences, unlikeDocument } from './contract/differences.ts';
import { root } from './root.ts';

const contract = readContract();
const supergraph = 'gateway/supergraph.graphql';
const problems = differences(contract, readFieldRules(readFileSync(join(root, supergraph), 'utf8')));

const folder = resolve(root, readSettings(process.env, commandSettings).contractFolder);
const program = join(folder, 'check.mjs');
if (existsSync(program)) {
  const document: DocumentedOperation[] = JSON.parse(readFileSync(join(folder, 'operations.json'), 'utf8'));
  problems.push(...unlikeDocument(contract, document));
  const served = new Set([...contract].filter(([, rule]) => rule.served).map(([name]) => name.split('.')[1]));
  // The contract's document does not list operations that Parley adds to the contract. The contract's program refuses their names.
  const needed = document.map(({ operation }) => operation).filter((name) => served.has(name));
  const args = [program, supergraph, '--need', needed.join(',')];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} else {
  console.log(
    'compared with gateway/contract.json alone: the contract is not beside this checkout (PARLEY_CONTRACT_DIR)',
  );
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
