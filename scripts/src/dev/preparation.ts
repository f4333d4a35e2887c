import { join } from 'node:path';
import { root } from '../root.ts';
import { isProto, isSubgraphSchema } from './source-files.ts';

/** Something to be done before the mesh starts again. */
export interface Step {
  name: string;
  command: [string, ...string[]];
}

const script = (name: string): Step => ({ name, command: [process.execPath, join(root, `scripts/src/${name}.ts`)] });

/** What changed files ask for: from protos comes code, from schemas the supergraph. */
export function stepsFor(paths: Iterable<string>): Step[] {
  const all = [...paths];
  return [
    ...(all.some(isProto) ? [script('generate')] : []),
    ...(all.some(isSubgraphSchema) ? [script('compose')] : []),
  ];
}
