# Functions for installing and starting Kafka.
java_version=$(java --version | sed -n '1s/^[^ ]* \([0-9]*\).*/\1/p')
[ "${java_version:-0}" -ge 17 ] || unavailable "there is no Java 17 or newer"

options='-Xms32m -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Dorg.slf4j.simpleLogger.defaultLogLevel=warn'

# The class path, sorted by bytes so that it is the same on every machine: two jars contain classes of the same name.
class_path() (
  LC_ALL=C
  printf '%s:' "$1"/*.jar
)

# addresses PORT SECOND_PORT [HOST]: prints the listeners. Only the broker itself calls the controller.
addresses() {
  echo "listeners=PLAINTEXT://${3:-127.0.0.1}:$1,CONTROLLER://127.0.0.1:$2"
  echo "advertised.listeners=PLAINTEXT://${3:-127.0.0.1}:$1"
  echo "controller.quorum.voters=1@127.0.0.1:$2"
}
