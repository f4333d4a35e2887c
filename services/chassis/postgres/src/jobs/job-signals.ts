/** Somebody wants no more of this job (`jobs(db).cancel`). The handler keeps what it has and completes. */
export class JobCancelled extends Error {
  override readonly name = 'JobCancelled';

  constructor() {
    super('The job was cancelled');
  }
}

/** This process stops and gives the job to another. The handler stores nothing and announces nothing. */
export class JobHandover extends Error {
  override readonly name = 'JobHandover';

  constructor() {
    super('The job is handed over');
  }
}

/** The lease has run out or was taken: somebody else does the job now. The handler stores nothing. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor(message = 'The lease of the job is lost') {
    super(message);
  }
}
