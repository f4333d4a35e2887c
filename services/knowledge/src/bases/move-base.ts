import { serviceRequest, type TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError } from '@parley/kernel/errors';
import type { Part } from '@parley/kernel/processes/unit';
import type { Metrics } from '@parley/kernel/telemetry/metrics';
import { repeated } from '@parley/kernel/timing/repeated';
import type { SharedDb, TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun, Lease } from '@parley/postgres/jobs/job-types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { findTenant } from '@parley/service/tenant-facts';
import { documentStore } from '../documents/document-store.ts';
import { misconfigurationOf } from '../embeddings/embedder.ts';
import { generationStore } from '../indexing/generation-store.ts';
import { type BuiltGeneration, discardGeneration, fillGeneration, switchGeneration } from '../indexing/index-text.ts';
import { type Failures, oneMore, type Patience, suspendedRetryMs } from '../indexing/job-patience.ts';
import type { KnowledgeDocument } from '../knowledge.ts';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { baseModelStore } from './base-model-store.ts';
import { baseMoveStore, type MovedDocument } from './base-move-store.ts';

interface MoveBase {
  knowledgeBaseId: number;
}

interface Move extends MoveBase {
  /** The embedding model that the base moves to. */
  model: string;
  /** The only document to embed anew, if the base already has the model. Undefined: all documents are prepared and switched together. */
  outdated?: MovedDocument | undefined;
}

type MovePorts = Pick<Ports, 'database' | 'embedder' | 'identity' | 'log'> & {
  failedMoves: Pick<ReturnType<Metrics['counter']>, 'add'>;
};

const moveBaseKind = 'knowledge.move-base';
const basesAtOnce = 100;
const refusedText = { name: 'refused text', attempts: 3, pauseMs: 2_000 };
/** The patience with failures that the operator can correct within minutes, e.g. a refused API key. */
const fault = { name: 'fault', attempts: 10, pauseMs: 30_000 };

interface MoveJob extends MoveBase {
  failures?: Failures | undefined;
}

class MoveGivenUp extends Error {
  override name = 'MoveGivenUp';
}

export function failedMoves(metrics: Metrics): MovePorts['failedMoves'] {
  return metrics.counter('parley_knowledge_moves_failed_total', 'Bases that could not be embedded with another model');
}

/**
 * At the start, sets this process's embedding model as the model in use. Then regularly starts jobs that embed bases anew: bases with
 * another model, and bases with passages that were embedded with an earlier name of their document. Starts no jobs once a later process has
 * set another model.
 */
export function modelChange(ports: MovePorts): Part {
  const { database, embedder, log } = ports;
  const { model } = embedder;
  let isAnnounced = false;

  async function announce(db: SharedDb): Promise<void> {
    await baseModelStore(db).setModelInUse(model);
    await baseModelStore(db).forgetFailedMoves(db, moveBaseKind);
  }

  async function work(): Promise<void> {
    if (!isAnnounced) await database.transactShared(announce);
    isAnnounced = true;
    await database.transactShared(async (db) => {
      const asked = { model, jobKind: moveBaseKind, limit: basesAtOnce };
      for (const { tenantId, knowledgeBaseId } of await baseModelStore(db).basesToMove(db, asked)) {
        const data: MoveBase = { knowledgeBaseId };
        await jobs(db).append({ kind: moveBaseKind, key: String(knowledgeBaseId), tenantId, data });
      }
    });
  }

  const failure = 'bases of an earlier embedding model not looked for; will retry';
  return repeated({ name: 'change of the embedding model', pauseMs: 30_000, failure, log }, work);
}

export function moveBaseJob(ports: MovePorts): JobDeclaration {
  return job<MoveJob>({
    kind: moveBaseKind,
    gauge: { name: 'parley_knowledge_bases_moving', help: 'Bases that are embedded anew' },
    concurrency: 2,
    perTenantLimit: 1,
    // The endpoint may be down for a long time, or the platform may have reached its spending ceiling.
    retry: 'untilDone',
    retryable: (error) => !(error instanceof MoveGivenUp),
    stopGraceMs: 1_000,
    handler: (run) => moveBase(ports, run),
  });
}

/**
 * Embeds a base's documents anew. For another model, all documents are prepared while the old generation is searched, and then switched in
 * one step. For the same model, each document is switched separately. Prepared documents survive the death of the process. The platform
 * pays.
 */
async function moveBase(ports: MovePorts, run: JobRun<MoveJob>): Promise<void> {
  const { data, tenantId, signal, lease } = run;
  const { knowledgeBaseId } = data;
  const request = serviceRequest('knowledge', tenantId, `move-base-${knowledgeBaseId}`, signal);
  for (;;) {
    signal.throwIfAborted();
    const tenant = await findTenant(ports.identity, request.caller, signal);
    if (!tenant) return endMove(ports, run);
    if (tenant.suspended) return run.retryLater(data, suspendedRetryMs);
    const move = await ports.database.transact(tenantId, (db) => begin(db, knowledgeBaseId, lease));
    if (!move) return;
    const document =
      move.outdated ??
      (await ports.database.transact(tenantId, (db) => baseMoveStore(db, knowledgeBaseId).nextDocument()));
    if (document) {
      try {
        await embedAnew(ports, request, move, document);
      } catch (error) {
        return waitOrGiveUp(ports, run, document.id, error);
      }
    } else await switchBase(ports, tenantId, move);
  }
}

async function endMove({ database }: MovePorts, { data, tenantId, lease }: JobRun<MoveBase>): Promise<void> {
  await database.transact(tenantId, async (db) => {
    await baseModelStore(db).forget(db, data.knowledgeBaseId);
    await lease.complete(db);
  });
}

/**
 * Schedules another attempt after a failure that may be temporary.
 * @throws the given error after an outage, so that the job starts again by itself
 * @throws MoveGivenUp after too many other failures
 */
async function waitOrGiveUp(
  { log, failedMoves: givenUp }: MovePorts,
  run: JobRun<MoveJob>,
  documentId: number,
  error: unknown,
): Promise<void> {
  const { data, tenantId, signal } = run;
  const patience = patienceWith(error);
  if (signal.aborted || !patience) throw error;
  const about = { err: error, tenantId, knowledgeBaseId: data.knowledgeBaseId, documentId };
  const failures = oneMore(data.failures, patience);
  if (failures) {
    log.warn({ ...about, failures }, 'document not embedded with another model; will retry');
    return run.retryLater({ ...data, failures }, patience.pauseMs);
  }
  givenUp.add();
  log.error(about, 'base not embedded with another model; tried again at the next start');
  throw new MoveGivenUp('The base keeps its embedding model', { cause: error });
}

/**
 * Returns how often a failure may occur. Undefined for failures that end without a correction: outages, the platform's spending ceiling,
 * deleted documents.
 */
function patienceWith(error: unknown): Patience | undefined {
  if (!isDomainError(error) || misconfigurationOf(error)) return fault;
  return error.reason === 'EMBEDDING_REFUSED' || error.reason === 'EMBEDDING_TOO_LONG' ? refusedText : undefined;
}

/** Finds the next step of the move. Returns undefined if the move is complete. */
async function begin(db: TenantDb, knowledgeBaseId: number, lease: Lease): Promise<Move | undefined> {
  const models = baseModelStore(db);
  const move = baseMoveStore(db, knowledgeBaseId);
  const model = await models.modelInUse();
  const base = await move.lock();
  if (base && model !== undefined && base.embeddingModel !== model) {
    if (base.preparedModel !== model) await move.prepareFor(model);
    return { knowledgeBaseId, model };
  }
  if (base) {
    if (base.preparedModel !== null) await move.prepareFor(null);
    const outdated = await register(db, knowledgeBaseId, base.embeddingModel);
    if (outdated) return { knowledgeBaseId, model: base.embeddingModel, outdated };
  } else await models.forget(db, knowledgeBaseId);
  await lease.complete(db);
  return undefined;
}

/** Stores whether the base's passages are current. @returns a document that still has to be embedded anew; undefined if there is none */
async function register(db: TenantDb, knowledgeBaseId: number, model: string): Promise<MovedDocument | undefined> {
  const models = baseModelStore(db);
  await models.register(db, knowledgeBaseId, model, false);
  const outdated = await baseMoveStore(db, knowledgeBaseId).nextOutdated();
  if (!outdated) await models.register(db, knowledgeBaseId, model, true);
  return outdated;
}

async function embedAnew(
  ports: MovePorts,
  request: TenantRequest,
  move: Move,
  { id, generation, fileName }: MovedDocument,
): Promise<void> {
  const { database } = ports;
  const { caller } = request;
  const { tenantId } = caller;
  const { knowledgeBaseId, model } = move;
  const begun = await database.transact(tenantId, async (db) => ({
    chunks: await baseMoveStore(db, knowledgeBaseId).chunksOf(id, generation),
    generation: await generationStore(db).begin(id),
  }));
  const of = { knowledgeBaseId, documentId: id, generation: begun.generation, name: fileName, model };
  const built = await fillGeneration(ports, request, { ...of, chargedTo: 'platform' }, begun.chunks);
  const isKept = await database.transact(
    tenantId,
    async (db) => {
      // Another process may have taken this job over and be preparing another model.
      const base = await baseMoveStore(db, knowledgeBaseId).lock();
      const isWanted = move.outdated ? base?.embeddingModel === model : base?.preparedModel === model;
      if (!isWanted || !(await documentStore(db).find(id))) return false;
      const document = await documentStore(db).lock(id);
      if (document.generation !== generation) return false;
      return move.outdated ? replace(db, document, built) : prepare(db, knowledgeBaseId, document, built);
    },
    { lockQueue: usageQueueKey(tenantId) },
  );
  if (!isKept) await discardGeneration(ports, caller, id, built.generation);
}

async function replace(db: TenantDb, document: KnowledgeDocument, built: BuiltGeneration): Promise<boolean> {
  await switchGeneration(db, document, built, 'unbounded');
  return true;
}

async function prepare(
  db: TenantDb,
  knowledgeBaseId: number,
  { id, preparedGeneration }: KnowledgeDocument,
  built: BuiltGeneration,
): Promise<boolean> {
  if (preparedGeneration !== null) return false;
  await generationStore(db).adopt(id, built.generation);
  await baseMoveStore(db, knowledgeBaseId).prepared(id, built);
  return true;
}

/** Switches the base to the prepared model, unless a document was added or changed in the meantime and is not prepared yet. */
function switchBase({ database }: MovePorts, tenantId: number, { knowledgeBaseId, model }: Move): Promise<void> {
  return database.transact(
    tenantId,
    async (db) => {
      const move = baseMoveStore(db, knowledgeBaseId);
      const base = await move.lock();
      if (base?.preparedModel !== model || (await move.nextDocument())) return;
      const chunks = await move.switchTo(model);
      await register(db, knowledgeBaseId, model);
      if (chunks !== 0) await usageStore(db).change({ chunks }, 'unbounded');
    },
    { lockQueue: usageQueueKey(tenantId) },
  );
}
