import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { WorkflowDefinition } from '@parley/agent/workflow/definition';
import { type DrawnRun, draw } from '@parley/agent/workflow/draw';

const marked = /(?<=<!-- workflow: (?<file>[^\s,]+)(?:, run: (?<run>\S+))? -->\n).*?(?=<!-- end of workflow -->)/gsu;

/**
 * Returns the services' pages below `root` with current pictures of workflows. A picture stands between `<!-- workflow: FILE -->` and `<!--
 * end of workflow -->`. The marker `<!-- workflow: FILE, run: FILE -->` also shows the path of a run. The paths of files are relative to
 * the page.
 * @throws Error if a page names a file that cannot be read
 */
export function workflowPictures(root: string) {
  return globSync('services/*/{,src/*/,examples/}README.md', { cwd: root }).map((path) => {
    const read = (file: string) => {
      try {
        return JSON.parse(readFileSync(join(root, dirname(path), file), 'utf8'));
      } catch (error) {
        throw new Error(`${path} has a picture of ${file}, which cannot be read`, { cause: error });
      }
    };
    const text = readFileSync(join(root, path), 'utf8').replaceAll(marked, (_, file: string, run?: string) => {
      const picture = draw(read(file) as WorkflowDefinition, run === undefined ? undefined : (read(run) as DrawnRun));
      return `\n\`\`\`mermaid\n${picture}\`\`\`\n\n`;
    });
    return { path, text };
  });
}
