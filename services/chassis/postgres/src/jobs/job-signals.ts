/** The job was cancelled (`jobs(db).cancel`). The handler stores its partial result and completes. */
export class JobCancelled extends Error {
  override readonly name = 'JobCancelled';

  constructor() {
    super('The job was cancelled');
  }
}

/** This process stops, and another will run the job. The handler stores and publishes nothing. */
export class JobHandover extends Error {
  override readonly name = 'JobHandover';

  constructor() {
    super('The job is handed over');
  }
}

/** The lease has expired or was taken over: another process runs the job. The handler stores nothing. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';

  constructor(message = 'The lease of the job is lost') {
    super(message);
  }
}
