import test from 'ava';
import { installTool, type Tool } from '../install-tool.ts';

/** Installs a program. @returns `test`; if this machine cannot run the program, `test.skip`, except under `CI`. */
export async function testWith(tool: Tool): Promise<typeof test | typeof test.skip> {
  const missing = await installTool(tool, console.log);
  if (missing === undefined) return test;
  console.log(`tests that need ${tool.name} are left out: ${missing}`);
  return process.env.CI ? test : test.skip;
}
