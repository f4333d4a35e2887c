import { readFileSync, writeFileSync } from 'node:fs';
import type { WorkflowDefinition } from '@parley/agent/workflow/definition';
import { type DrawnRun, draw } from '@parley/agent/workflow/draw';
import { validate } from '@parley/agent/workflow/validate';
import { readSettings } from '@parley/kernel/settings/config';
import { talkSettings } from '@parley/units/command-settings';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { publicApi } from './talk/api.ts';
import { openTerminal } from './talk/terminal.ts';
import { runWorkflow } from './workflow/run.ts';

const usage = `Draws the definition of a workflow as a Mermaid flowchart, checks it, or runs it.

  scripts/workflow draw FILE [--run FILE]
  scripts/workflow check FILE
  scripts/workflow run FILE [MESSAGE…] [--knowledge FILE…] [--action URL] [--trace FILE] [--url URL] [--email EMAIL --password PASSWORD]

  FILE         a definition as JSON; if it is not valid, its problems are printed and the exit code is 1
  --run        a run to draw, as JSON: a response of runWorkflowTask, a list of trace steps, or the output of --trace

The run command publishes the definition on a server and talks to an agent that uses it. Without MESSAGE, it reads
messages from the terminal or a pipe. After each reply it prints the structured content and the nodes that ran.

  --knowledge  a text file for a new knowledge base, which replaces those of the definition; may be repeated
  --action     a URL to call by GET, which replaces the actions of the definition, e.g. 'http://localhost:8000/orders/{order}'
  --trace      the file for the run of the last message, for draw --run
  --url        the GraphQL endpoint                      (PARLEY_URL, default ${readSettings({}, talkSettings).url})
  --email      an account to sign in with                (PARLEY_EMAIL, PARLEY_PASSWORD)
  --password   its password; without both, a throw-away account is registered
`;

const defaults = readSettings(process.env, talkSettings);
const {
  positionals: [command, file, ...messages],
  run,
  trace,
  url,
  ...options
} = readOptions(
  usage,
  {
    run: { type: 'string' },
    knowledge: { type: 'string', multiple: true },
    action: { type: 'string' },
    trace: { type: 'string' },
    url: { type: 'string', default: defaults.url },
    email: { type: 'string', default: defaults.email },
    password: { type: 'string', default: defaults.password },
  },
  100,
);

const isKnown = command === 'draw' || command === 'check' || command === 'run';
if (!isKnown || file === undefined || (command !== 'run' && messages.length > 0)) {
  process.stderr.write(usage);
  process.exit(2);
}

await attempt(async () => {
  const definition = readJson(file);
  const issues = validate(definition);
  for (const { path, message } of issues) console.error(`${path === '' ? 'The definition' : path} ${message}`);
  if (issues.length > 0) process.exitCode = 1;
  else if (command === 'check') console.log('The definition is valid');
  else if (command === 'run') await runIt(definition as WorkflowDefinition);
  else
    process.stdout.write(draw(definition as WorkflowDefinition, run === undefined ? undefined : runOf(readJson(run))));
});

async function runIt(definition: WorkflowDefinition): Promise<void> {
  const terminal = openTerminal(process, () => process.exit(130));
  function* given() {
    for (const message of messages) {
      terminal.note(`you> ${message}`);
      yield message;
    }
  }
  const said = messages.length > 0 ? given() : terminal.lines();
  const last = await runWorkflow(publicApi(url), definition, options, terminal, said);
  if (trace !== undefined && last) writeFileSync(trace, `${JSON.stringify(last, undefined, 2)}\n`);
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Returns the run in a JSON value. @throws Error if the value has no trace */
function runOf(json: unknown): DrawnRun {
  const steps: unknown = Array.isArray(json) ? json : (json as { trace?: unknown } | null)?.trace;
  if (!Array.isArray(steps) || !steps.every(isStep))
    throw new Error('The run has no trace: a list of objects with a nodeId');
  return { trace: steps };
}

function isStep(step: unknown): step is DrawnRun['trace'][number] {
  return typeof step === 'object' && step !== null && 'nodeId' in step && typeof step.nodeId === 'string';
}
