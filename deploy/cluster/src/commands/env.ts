import { existsSync } from 'node:fs';
import { adminKubeconfig } from '../folders.ts';
import { programFolder } from '../programs.ts';
import { parseArguments } from './arguments.ts';
import type { Command } from './command.ts';

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

export const run: Command = async ({ folders, args, say, print }) => {
  parseArguments(args, {});
  const kubeconfig = adminKubeconfig(folders);
  if (!existsSync(kubeconfig)) {
    say('there is no cluster: scripts/cluster up');
    return 1;
  }
  print(`export KUBECONFIG=${quoted(kubeconfig)}\n`);
  print(`export PATH=${quoted(`${programFolder(folders.tools, 'kubernetes')}/bin`)}:"$PATH"\n`);
  return 0;
};
