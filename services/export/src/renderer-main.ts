import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler';
import { performTasks } from '@parley/kernel/processes/perform-tasks';
import { fontFiles, templateFile } from './render-inputs.ts';
import type { RendererAnswer, RenderTask } from './renderer.ts';
import { parseContent, studyKit } from './study-kit.ts';

// This file runs in the process that `renderer.ts` starts.

const compiler = NodeCompiler.create({
  workspace: dirname(templateFile),
  // These fonts take precedence over system fonts, and the template uses no other fonts.
  fontArgs: [{ fontBlobs: fontFiles().map((file) => readFileSync(file)) }],
});
const mainFileContent = readFileSync(templateFile, 'utf8');

performTasks(({ content }: RenderTask): RendererAnswer => {
  const kit = JSON.stringify(studyKit(parseContent(content)));
  const { result } = compiler.compile({ mainFileContent, inputs: { kit } });
  // The problem omits the compiler's messages, because they may quote the document's text.
  return result ? { pdf: compiler.pdf(result), pages: result.numOfPages } : { problem: 'notRendered' };
});
