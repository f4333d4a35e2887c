// This command also runs in the build stage of deploy/docker/Dockerfile, without node_modules, so it imports no installed packages.
import { attempt } from './attempt.ts';
import { imageNames } from './image/image-content.ts';
import { makeImage } from './image/make-image.ts';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

const usage = `Makes the file tree of a unit's container image, without Docker. It has the sources of the unit and of the workspaces on
which it depends, their production dependencies in the versions of package-lock.json, and main.ts, which starts the unit.

  scripts/image UNIT DIR
  scripts/image --list

  UNIT   ${imageNames(root).join(', ')}
  DIR    the folder for the tree; it must be empty or not exist yet

  --list prints the names of all images, one per line
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
