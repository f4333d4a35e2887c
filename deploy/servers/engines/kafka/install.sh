# Downloads Kafka's jars with Maven, and formats a data folder as `template`. New brokers start with a copy of `template`, because
# formatting a folder would start Java one more time.
. "$SCRIPTS/java.sh"
mvn -v >/dev/null || unavailable 'there is no Maven (mvn)'
mvn -q -B -f "$SCRIPTS/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
  -DoutputDirectory="$TARGET" -DincludeScope=runtime -Dmaven.repo.local="$PWD/repository"
{
  cat "$SCRIPTS/server.properties"
  echo 'log.dirs=template'
  addresses 1 2
} >format.properties
rm -rf template
java $options -cp "$(class_path "$TARGET")" kafka.tools.StorageTool format -t parley-on-a-machine-00 -c format.properties >format.log
mv template "$TARGET"

# Creates an archive of Java's loaded classes (CDS), which halves a broker's CPU time at start. Java finds archived classes by the paths of
# the jars, so all brokers use the path `installed`. If the archive cannot be created, brokers start without it.
ln -sfn "$TARGET" installed
has_ended() { ! kill -0 "$broker" 2>/dev/null; }
has_started_or_ended() { has_ended || grep -q 'Kafka Server started' archive.log; }
within_60_s() {
  tries=120
  until "$1"; do
    [ "$tries" -gt 0 ] || return 1
    tries=$((tries - 1))
    sleep 0.5
  done
}
for attempt in 1 2 3; do
  port=$(awk -v seed="$$$attempt" 'BEGIN { srand(seed); print 20000 + 2 * int(6000 * rand()) }')
  rm -rf data
  cp -r "$TARGET/template" data
  {
    cat "$SCRIPTS/server.properties"
    echo 'log.dirs=data'
    addresses "$port" "$((port + 1))"
  } >archive.properties
  java $options -Dorg.slf4j.simpleLogger.defaultLogLevel=info -XX:ArchiveClassesAtExit="$TARGET/classes.jsa" \
    -cp "$(class_path installed)" kafka.Kafka archive.properties >archive.log 2>&1 &
  broker=$!
  hangs=
  within_60_s has_started_or_ended || hangs=yes
  kill "$broker" 2>/dev/null || true
  if ! within_60_s has_ended; then
    hangs=yes
    kill -KILL "$broker" 2>/dev/null || true
  fi
  wait "$broker" || true
  # If the broker hung, its archive is incomplete and is deleted. Another port would not help then. If the broker ended without an archive,
  # another port is tried.
  [ -z "$hangs" ] || rm -f "$TARGET/classes.jsa"
  [ -z "$hangs" ] && [ ! -e "$TARGET/classes.jsa" ] || break
done
