import type { Migration } from '@parley/postgres/database/types';

/** Every index starts with `tenant_id`: a planner without statistics (PGlite) would otherwise scan all rows of a tenant. */
export const conversations: Migration = {
  name: '001-conversations',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE sessions (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        agent_id integer NOT NULL,
        status text NOT NULL CHECK (status IN ('PENDING', 'ACTIVE', 'ENDED', 'EXPIRED')),
        -- Set while a running turn is being interrupted to end the session: the transaction that ends the turn gives
        -- the session this status.
        ending_as text CHECK (ending_as IN ('ENDED', 'EXPIRED')),
        client_external_id text NOT NULL,
        metadata jsonb,
        interrupt_count integer NOT NULL DEFAULT 0,
        total_tokens_in_context integer NOT NULL DEFAULT 0,
        -- Assigned under the row's lock, so that the messages of a session are numbered without gaps.
        next_turn_index integer NOT NULL DEFAULT 0,
        -- The id of the newest row in events: no later event may have a lower one.
        last_event_ms bigint NOT NULL DEFAULT 0,
        last_event_n bigint NOT NULL DEFAULT 0,
        started_at timestamptz,
        ended_at timestamptz,
        last_event_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id)
      ) WITH (fillfactor = 80);
      CREATE INDEX sessions_of_agent ON sessions (tenant_id, agent_id, id);

      CREATE TABLE messages (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        session_id integer NOT NULL,
        role text NOT NULL CHECK (role IN ('USER', 'MODEL')),
        text text NOT NULL,
        turn_index integer NOT NULL,
        -- For a USER message its own turn_index, for a reply the turn_index of its question. By turn_index, queued
        -- messages come before the replies to earlier messages; by exchange_index each reply follows its question,
        -- which is the order that a model needs.
        exchange_index integer NOT NULL,
        tokens_in integer NOT NULL DEFAULT 0,
        tokens_out integer NOT NULL DEFAULT 0,
        cost_usd numeric(14, 8) NOT NULL DEFAULT 0,
        structured_content jsonb,
        -- The message's estimated share of a model's context, so that the history is limited without reading texts.
        token_estimate integer NOT NULL,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id),
        UNIQUE (tenant_id, session_id, turn_index),
        FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id)
      );
      -- The history, newest first. Unique, so that no message is answered twice.
      CREATE UNIQUE INDEX messages_by_exchange ON messages (tenant_id, session_id, exchange_index DESC, role);

      CREATE TABLE turns (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        session_id integer NOT NULL,
        -- The turn_index of the USER message to be answered.
        turn_index integer NOT NULL,
        client_turn_id text,
        test_draft boolean NOT NULL DEFAULT false,
        state text NOT NULL CHECK (state IN ('QUEUED', 'RUNNING', 'DONE', 'FAILED')),
        attempt integer NOT NULL DEFAULT 0,
        -- True if the rest of the reply is not wanted; in state DONE: the reply was cut short.
        interrupted boolean NOT NULL DEFAULT false,
        failure_code text,
        failure_message text,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        finished_at timestamptz,
        UNIQUE (tenant_id, id),
        UNIQUE (tenant_id, session_id, turn_index),
        FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id)
      ) WITH (fillfactor = 80);
      CREATE INDEX turns_open ON turns (tenant_id, session_id, turn_index) WHERE state IN ('QUEUED', 'RUNNING');

      -- Events that are kept longer than the event log: ends of turns, greetings and changes of status.
      CREATE TABLE events (
        tenant_id integer NOT NULL,
        session_id integer NOT NULL,
        event_ms bigint NOT NULL,
        event_n bigint NOT NULL,
        turn_id integer,
        message_id integer,
        status text,
        occurred_at timestamptz NOT NULL DEFAULT parley_now(),
        PRIMARY KEY (tenant_id, session_id, event_ms, event_n),
        FOREIGN KEY (tenant_id, session_id) REFERENCES sessions (tenant_id, id),
        FOREIGN KEY (tenant_id, turn_id) REFERENCES turns (tenant_id, id),
        FOREIGN KEY (tenant_id, message_id) REFERENCES messages (tenant_id, id)
      );
      -- A turn ends once.
      CREATE UNIQUE INDEX events_of_turn ON events (tenant_id, turn_id) WHERE turn_id IS NOT NULL;
    `);
  },
};
