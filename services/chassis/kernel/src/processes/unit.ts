/** A component of a unit, such as a server or a pool. It does nothing before `start`. */
export interface UnitPart {
  name: string;
  /** Omitted if the part has nothing to open. */
  start?(): Promise<void>;
  /** Finishes or hands over work in progress, then closes the part. Called once, even if a later part failed to start. */
  stop(): Promise<void>;
  /** Rejects with the reason while the part is not ready. A part without this method is ready once it has started. */
  ready?(): Promise<void>;
}

/** A part that opens something: a server, a pool, a consumer. */
export interface Part extends UnitPart {
  start(): Promise<void>;
}

/**
 * One deployable unit: its parts start in order and stop in reverse order. A unit is itself a part, so one process can run several units.
 */
export interface Unit extends Part {
  ready(): Promise<void>;
}

export function unit(name: string, parts: UnitPart[]): Unit {
  const started: UnitPart[] = [];
  let stopping = false;

  async function stop(): Promise<void> {
    stopping = true;
    const errors: unknown[] = [];
    for (let part = started.pop(); part; part = started.pop()) {
      try {
        await part.stop();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `${name} did not stop cleanly`);
  }

  return {
    name,
    async start() {
      stopping = false;
      for (const part of parts) {
        try {
          await part.start?.();
          started.push(part);
        } catch (error) {
          await stop().catch(() => undefined); // the first failure is the one to report
          throw error;
        }
      }
    },
    stop,
    async ready() {
      if (stopping || started.length < parts.length)
        throw new Error(`${name} is ${stopping ? 'stopping' : 'starting'}`);
      await Promise.all(parts.map(async (part) => part.ready?.()));
    },
  };
}
