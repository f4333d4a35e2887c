// This command also runs in the build stage of deploy/docker/Dockerfile, without node_modules, so it imports no installed packages.
import { attempt } from './attempt.ts';
import { imageNames } from './image/image-content.ts';
import { makeImage } from './image/make-image.ts';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

const usage = `Makes the file tree of a container image without Docker: the sources of a unit and of the workspaces that it depends
on, their production dependencies as package-lock.json has them, and main.ts, by which Node starts it.

  scripts/image UNIT DIR
  scripts/image --list

  UNIT   ${imageNames(root).join(', ')}
  DIR    where it goes: a folder that does not exist yet, or is empty

  --list prints the names of all images, a line each
`;

const { list, positionals } = readOptions(usage, { list: { type: 'boolean' } }, 2);
const [unit, folder, ...others] = positionals;
if (list && !unit) {
  for (const name of imageNames(root)) console.log(name);
} else if (list || !unit || !folder || others.length > 0) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  await attempt(async () => {
    const { files, bytes, packages } = await makeImage(root, unit, folder);
    const size = `${(bytes / 1e6).toFixed(1)} MB in ${files} files, with ${packages} packages`;
    console.log(`${unit}: ${size}; start it by: node ${folder}/main.ts`);
  });
}
