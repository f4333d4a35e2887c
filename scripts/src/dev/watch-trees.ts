import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';

/** Changed files, gathered until somebody asks. */
export interface Changes {
  /** Resolves with the paths that changed since the last call, once it has been quiet for a moment. */
  next(): Promise<string[]>;
  /** What changed and was not asked for yet. */
  pending(): string[];
  /** Forgets the changes so far but those that `isKept` names. */
  forget(isKept: (path: string) => boolean): void;
  close(): void;
}

export interface WatchOptions {
  root: string;
  /** Which paths below the root count. */
  isWanted: (path: string) => boolean;
}

/** One save is several events, and a checkout of a branch is a great many. */
const settleMs = 150;

/**
 * Watches folders and all below them. A watcher to each folder: the recursive one of Node on Linux watches files, and loses
 * those that an editor replaces by renaming.
 */
export function watchTrees(folders: string[], { root, isWanted }: WatchOptions): Changes {
  const watchers = new Map<string, FSWatcher>();
  const changed = new Set<string>();
  let wake: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;

  for (const folder of folders) add(folder);

  /** `found` is told of the files that are there already. */
  function add(folder: string, found?: (path: string) => void): void {
    const watcher = watch(join(root, folder), (event, name) => {
      if (name === null) return;
      const path = `${folder}/${name}`;
      if (isWanted(path)) note(path);
      if (event === 'rename') addAnew(path);
    });
    watcher.on('error', () => remove(folder)); // the folder has gone
    watchers.set(folder, watcher);
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) add(path, found);
      else found?.(path);
    }
  }

  /** A name has come or gone. A folder that was removed and made again is another one, of which the old watcher hears nothing. */
  function addAnew(path: string): void {
    remove(path);
    try {
      if (statSync(join(root, path)).isDirectory()) add(path, (file) => isWanted(file) && note(file));
    } catch {
      remove(path); // It has gone (again).
    }
  }

  function remove(folder: string): void {
    for (const [path, watcher] of watchers) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue;
      watcher.close();
      watchers.delete(path);
    }
  }

  function isSettled(): boolean {
    return changed.size > 0 && timer === undefined;
  }

  function note(path: string): void {
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = undefined;
      wake?.();
    }, settleMs);
  }

  return {
    async next() {
      while (!isSettled()) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const paths = [...changed];
      changed.clear();
      return paths.toSorted();
    },
    pending: () => [...changed],
    forget(isKept) {
      for (const path of changed) if (!isKept(path)) changed.delete(path);
    },
    close() {
      clearTimeout(timer);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}
