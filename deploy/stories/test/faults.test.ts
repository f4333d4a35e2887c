// Runs the fault tests in their short form. The tests share a separate mesh, because they kill and stop the mesh's processes and servers.
// Each test restores the mesh for the next one.
/* oxlint-disable import/no-unassigned-import -- importing a test file declares its tests */
import './faults/events.test.ts';
import './faults/poison.test.ts';
import './faults/redis-and-postgres.test.ts';
import './faults/commits.test.ts';
import './faults/idempotency.test.ts';
import './faults/stop.test.ts';
import './faults/kill.test.ts';
import './faults/calls.test.ts';
import './faults/workflows.test.ts';
import './faults/knowledge-away.test.ts';
import './faults/voice-away.test.ts';
import './faults/documents.test.ts';
import './faults/slow-line.test.ts';
import './faults/rolling-restart.test.ts';
