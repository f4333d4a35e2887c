import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { compareProtos } from './rolling/compare-protos.ts';

const usage = `Refuses changes of the protos that break a version of Parley running beside this one.

The protos are compared with those of an earlier commit.

  node scripts/src/breaking.ts [--against COMMIT]

  --against COMMIT  the earlier commit, e.g. the tag of the release in use. Default: the newest tag v*, or the commit at which
                    the branch forked from main if that is newer; on main, the last commit, or the one before the last
                    change of the protos. Without any tag v*, nothing is compared
`;

const { against } = readOptions(usage, { against: { type: 'string' } });
await attempt(() => console.log(compareProtos({ against, mustCompare: Boolean(process.env['CI']) })));
