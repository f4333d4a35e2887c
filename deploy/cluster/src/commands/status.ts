import { status } from '../cluster.ts';
import type { Readiness } from '../readiness.ts';
import { parseArguments } from './arguments.ts';
import type { Command } from './command.ts';

const line = ({ name, ready, reason }: Readiness) =>
  `${ready ? 'ready    ' : 'not ready'} ${name}${reason ? `: ${reason}` : ''}\n`;

export const run: Command = async ({ folders, args, print }) => {
  parseArguments(args, {});
  const state = await status(folders);
  if (!state) {
    print('down\n');
    return 1;
  }
  if (!state.isComplete)
    print('scripts/cluster up has not completed; it starts from the beginning when it runs again\n');
  for (const name of state.stopped) print(`stopped   ${name}\n`);
  for (const each of [...state.nodes, ...state.pods]) print(line(each));
  return state.isComplete && state.stopped.length === 0 && state.nodes.every(({ ready }) => ready) ? 0 : 1;
};
