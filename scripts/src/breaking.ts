import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { compareProtos } from './rolling/compare-protos.ts';

const usage = `Refuses a change of the protos that a version which runs beside this one could not live with.

  node scripts/src/breaking.ts [--against COMMIT]

  --against COMMIT  what they are compared with, e.g. the tag of the release that runs. Default: the newest tag v*, and if it is
                    later, where the branch left main; on main the last commit, or the one before the protos last changed.
                    Before the first tag v* nothing is compared
`;

const { against } = readOptions(usage, { against: { type: 'string' } });
await attempt(() => console.log(compareProtos({ against, mustCompare: Boolean(process.env['CI']) })));
