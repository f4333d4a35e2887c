import { adminKubeconfig } from '../folders.ts';
import { programFolder } from '../programs.ts';
import { isMarkedUp } from '../up-mark.ts';
import { parseArguments } from './arguments.ts';
import type { Command } from './command.ts';

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

export const run: Command = async ({ folders, args, say, print }) => {
  parseArguments(args, {});
  if (!isMarkedUp(folders)) {
    say('there is no cluster: scripts/cluster up');
    return 1;
  }
  print(`export KUBECONFIG=${quoted(adminKubeconfig(folders))}\n`);
  print(`export PATH=${quoted(`${programFolder(folders.tools, 'kubernetes')}/bin`)}:"$PATH"\n`);
  return 0;
};
