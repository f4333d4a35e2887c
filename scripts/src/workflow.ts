import { readFileSync } from 'node:fs';
import type { WorkflowDefinition } from '@parley/agent/workflow/definition';
import { type DrawnRun, draw } from '@parley/agent/workflow/draw';
import { validate } from '@parley/agent/workflow/validate';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';

const usage = `Draws the definition of a workflow as a flowchart in Mermaid's language, or only checks it.

  scripts/workflow draw FILE [--run FILE]
  scripts/workflow check FILE

  FILE         a definition, as JSON; the problems of one that is not valid are printed, and the exit code is 1
  --run FILE   a run of it, as JSON with its trace: the answer of runWorkflowTask, or a list of trace steps
`;

const {
  run,
  positionals: [command, file],
} = readOptions(usage, { run: { type: 'string' } }, 2);

if ((command !== 'draw' && command !== 'check') || file === undefined) {
  process.stderr.write(usage);
  process.exit(2);
}

await attempt(() => {
  const definition = readJson(file);
  const issues = validate(definition);
  for (const { path, message } of issues) console.error(`${path === '' ? 'The definition' : path} ${message}`);
  if (issues.length > 0) process.exitCode = 1;
  else if (command === 'check') console.log('The definition is valid');
  else
    process.stdout.write(draw(definition as WorkflowDefinition, run === undefined ? undefined : runOf(readJson(run))));
});

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** @throws Error unless it has a trace */
function runOf(json: unknown): DrawnRun {
  const trace: unknown = Array.isArray(json) ? json : (json as { trace?: unknown } | null)?.trace;
  if (!Array.isArray(trace) || !trace.every(isStep))
    throw new Error('The run has no trace: a list of objects with a nodeId');
  return { trace };
}

function isStep(step: unknown): step is DrawnRun['trace'][number] {
  return typeof step === 'object' && step !== null && 'nodeId' in step && typeof step.nodeId === 'string';
}
