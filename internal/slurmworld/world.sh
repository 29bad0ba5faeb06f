#!/usr/bin/env bash
# A real SLURM cluster on one machine, in namespaces that vanish with it.
#
#     world.sh run N CMD...   start head and N nodes, run CMD on the head
#
# and, from within CMD:
#
#     world.sh crash|boot|freeze|thaw|unplug|plug NODE
#     world.sh controller stop|start|kill
#     world.sh pid NODE       the node's init, as the head sees it
#
# It has to be root and changes nothing outside: what it writes is on file
# systems in memory, and every process is a child of a namespace's init.
set -euo pipefail

WORLD=/run/slurmworld
NET=10.77 # the nodes' eth0; their ib0 is in the next one
FAST=10.78
USERS=(das:64242 eve:64243)
PATIENCE=150 # seconds that anything may take on a very busy machine

die() { echo "slurmworld: $*" >&2; exit 125; }

# within SECONDS WHAT COMMAND... polls until COMMAND succeeds.
within() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || die "$what: not in time"
		sleep 0.02
	done
}

names() { seq -f 'node%03g' 1 "$1"; }
number() { echo $((10#${1#node})); }

# listens PORT: whether something listens on the head.
listens() { [[ -n $(ss -Hltn "sport = :$1") ]]; }

# ---- The head ---------------------------------------------------------------

run() {
	(($# >= 2 && $1 >= 1 && $1 <= 200)) || die "want: run N CMD..., with 1 to 200 nodes"
	[[ $(id -u) == 0 ]] || die "only root can make one"
	exec unshare --mount --propagation private --uts --ipc --net --pid --fork --mount-proc --kill-child=SIGKILL \
		bash -c "$TEXT" slurmworld inside "$@"
}

# inside is the head's init: bash reaps what is orphaned.
inside() {
	local n=$1
	shift
	hostname head
	veil_root
	veil_tmp "$@"
	mount -t tmpfs -o mode=755 run /run
	mkdir -p $WORLD/{nodes,state,spool,keys,munge,etc} /run/{sshd,lock,netns}
	printf '%s\n' "$TEXT" >$WORLD/world.sh
	echo "$n" >$WORLD/count
	accounts
	network "$n"
	slurm_conf "$n"
	sshd_conf
	start_munge
	controller start
	local node
	for node in $(names "$n"); do start_node "$node"; done
	within $PATIENCE "host keys" have_keys "$n"
	trust "$n"
	within $PATIENCE "idle nodes" all_idle "$n"
	for node in $(names "$n"); do within $PATIENCE "daemons of $node" test -e "$WORLD/nodes/$node.up"; done
	export SLURMWORLD=$WORLD
	local code=0
	"$@" || code=$?
	exit $code # the kernel ends what is left
}

# veil_root lets other users pass through root's home to Python environments
# in it, and hides its .ssh.
veil_root() {
	local home real=/mnt entry name
	home=$(getent passwd root | cut -d: -f6)
	[[ -d $home && $home != / ]] || return 0
	mount --bind "$home" $real
	mount -t tmpfs -o mode=755 home "$home"
	shopt -s dotglob nullglob
	for entry in $real/*; do
		name=$home/${entry#"$real/"}
		if [[ -L $entry ]]; then
			cp -P "$entry" "$name"
		elif [[ $entry == */.ssh ]]; then
			continue
		elif [[ -d $entry ]]; then
			mkdir "$name" && mount --bind "$entry" "$name"
		elif [[ -f $entry ]]; then
			: >"$name" && mount --bind "$entry" "$name"
		fi
	done
	shopt -u dotglob nullglob
	umount -l $real
}

# veil_tmp makes /tmp the world's own. What the command, its environment and the
# directory name in the machine's /tmp stays there: programs, above all.
veil_tmp() {
	local name names
	names=$({ printf '%s\n' "$PWD" "$@"; env; } | grep -aoE '(^|[=:])/tmp/[^/:]+' | sed 's|.*/||' | sort -u) || :
	mount --bind /tmp /mnt
	mount -t tmpfs -o mode=1777 tmp /tmp
	while IFS= read -r name; do
		if [[ -z $name ]]; then
			continue # nothing is named
		elif [[ -d /mnt/$name ]]; then
			mkdir "/tmp/$name"
		elif [[ -f /mnt/$name ]]; then
			: >"/tmp/$name"
		else
			continue
		fi
		mount --bind "/mnt/$name" "/tmp/$name"
	done <<<"$names"
	umount -l /mnt
	cd "$PWD" # as it is mounted now
}

# accounts adds users, with homes in memory, keys, and a way to each other.
accounts() {
	local file entry user uid
	for file in passwd group shadow; do cp -p /etc/$file $WORLD/etc/$file; done
	mount -t tmpfs -o mode=755 homes /home
	for entry in "${USERS[@]}"; do
		user=${entry%:*} uid=${entry#*:}
		sed -i "/^$user:/d" $WORLD/etc/{passwd,group,shadow}
		echo "$user:x:$uid:$uid::/home/$user:/bin/bash" >>$WORLD/etc/passwd
		echo "$user:x:$uid:" >>$WORLD/etc/group
		echo "$user:*:19000:0:99999:7:::" >>$WORLD/etc/shadow # no password, but not locked
	done
	for file in passwd group shadow; do mount --bind $WORLD/etc/$file /etc/$file; done
	for entry in "${USERS[@]}"; do
		user=${entry%:*}
		install -d -o "$user" -g "$user" -m 700 "/home/$user"
		give_key "$user" "/home/$user"
	done
	give_key root "$(getent passwd root | cut -d: -f6)"
	if [[ ${SLURMWORLD_PAM:-} ]]; then
		printf '%s\n' "account required pam_slurm.so" "account required pam_unix.so" \
			"auth required pam_unix.so" "session required pam_unix.so" >$WORLD/etc/pam-sshd
		mount --bind $WORLD/etc/pam-sshd /etc/pam.d/sshd
	fi
}

give_key() {
	install -d -o "$1" -g "$1" -m 700 "$2/.ssh"
	ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$2/.ssh/id_ed25519"
	cp "$2/.ssh/id_ed25519.pub" "$2/.ssh/authorized_keys"
	chown -R "$1:$1" "$2/.ssh"
}

# have_keys N: whether all nodes have made their host keys.
have_keys() { (($(find $WORLD/keys -name '*.known' | wc -l) == $1)); }

# trust writes everybody's known_hosts.
trust() {
	local user home
	cat $WORLD/keys/*.known >$WORLD/known_hosts
	for user in root "${USERS[@]%:*}"; do
		home=$(getent passwd "$user" | cut -d: -f6)
		install -o "$user" -g "$user" -m 600 $WORLD/known_hosts "$home/.ssh/known_hosts"
		printf '%s\n' "Host node*" "  IdentityFile $home/.ssh/id_ed25519" "  IdentitiesOnly yes" \
			"  StrictHostKeyChecking yes" "  BatchMode yes" >"$home/.ssh/config"
		chown "$user:$user" "$home/.ssh/config"
		chmod 600 "$home/.ssh/config"
	done
}

# network makes a bridge for each network, and a network namespace for each node.
network() {
	local node i
	{
		echo "link set lo up"
		echo "link add eth0 type bridge"
		echo "link add ib0 type bridge"
		echo "addr add $NET.0.1/16 dev eth0"
		echo "addr add $FAST.0.1/16 dev ib0"
		for node in $(names "$1"); do
			i=$(number "$node")
			echo "netns add $node"
			echo "link add e$i type veth peer name eth0 netns $node"
			echo "link add f$i type veth peer name ib0 netns $node"
			echo "link set e$i master eth0 up"
			echo "link set f$i master ib0 up"
		done
		echo "link set eth0 up"
		echo "link set ib0 up"
	} | ip -batch -
	{
		printf '127.0.0.1 localhost\n%s.0.1 head\n' $NET
		for node in $(names "$1"); do echo "$NET.1.$(number "$node") $node $node.cluster"; done
		for node in $(names "$1"); do echo "$FAST.1.$(number "$node") $node.ib.cluster"; done
	} >$WORLD/etc/hosts
	mount --bind $WORLD/etc/hosts /etc/hosts
}

slurm_conf() {
	local last
	last=$(printf '%03d' "$1")
	mkdir -p $WORLD/slurm
	cat >$WORLD/slurm/slurm.conf <<-END
		ClusterName=world
		SlurmctldHost=head($NET.0.1)
		AuthType=auth/munge
		CredType=cred/munge
		AuthInfo=socket=$WORLD/munge/socket
		SlurmUser=root
		SlurmdUser=root
		StateSaveLocation=$WORLD/state
		SlurmdSpoolDir=$WORLD/spool/%n
		SlurmctldPidFile=$WORLD/slurmctld.pid
		SlurmdPidFile=$WORLD/nodes/%n.slurmd
		SlurmctldLogFile=$WORLD/slurmctld.log
		SlurmdLogFile=$WORLD/nodes/%n.slurmd.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		MpiDefault=none
		SelectType=select/linear
		SchedulerType=sched/backfill
		SchedulerParameters=sched_interval=1,bf_interval=1
		SlurmdParameters=config_overrides
		ReturnToService=1
		SlurmdTimeout=10
		KillWait=2
		MinJobAge=3600
		NodeName=node[001-$last] CPUs=8 RealMemory=16000 Feature=cpunode State=UNKNOWN
		PartitionName=defq Nodes=node[001-$last] Default=YES MaxTime=INFINITE DefaultTime=15 OverSubscribe=EXCLUSIVE
		PartitionName=short Nodes=node001 MaxTime=15 OverSubscribe=EXCLUSIVE
		PartitionName=closed Nodes=node001 State=DOWN OverSubscribe=EXCLUSIVE
	END
	# Without this slurmd wants to see the controllers of the machine's cgroups.
	echo CgroupPlugin=cgroup/v1 >$WORLD/slurm/cgroup.conf
	mount --bind $WORLD/slurm /etc/slurm
}

sshd_conf() {
	cat >$WORLD/sshd_config <<-END
		HostKey $WORLD/keys/NODE.ed25519
		HostKey $WORLD/keys/NODE.ecdsa
		PidFile $WORLD/nodes/NODE.sshd
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PermitRootLogin yes
		UseDNS no
		UsePAM ${SLURMWORLD_PAM:+yes}
		Subsystem sftp internal-sftp
	END
	sed -i 's/^UsePAM $/UsePAM no/' $WORLD/sshd_config
}

start_munge() {
	head -c 1024 /dev/urandom >$WORLD/munge/key
	chmod 600 $WORLD/munge/key
	munged --socket=$WORLD/munge/socket --key-file=$WORLD/munge/key --pid-file=$WORLD/munge/pid \
		--log-file=$WORLD/munge/log --seed-file=$WORLD/munge/seed
}

# all_idle N: whether the controller has heard of all nodes.
all_idle() { (($(sinfo -h -N -p defq -t idle -o %N | wc -l) == $1)); }

# save waits until the controller has written what it knows of jobs. It does so
# every five seconds; jobs of which it wrote nothing are lost with it, and their
# numbers are given once more.
save() {
	local job='' token=saved-$RANDOM$RANDOM
	read -r job < <(squeue -h -t PENDING,RUNNING -o %A) || return 0 # nothing to lose
	scontrol update JobId="$job" AdminComment=$token
	within $PATIENCE "jobs on disk" grep -qs $token $WORLD/state/job_state
}

controller() {
	local pid=
	[[ ! -s $WORLD/slurmctld.pid ]] || pid=$(<$WORLD/slurmctld.pid)
	case $1 in
	stop) kill -STOP "$pid" ;;
	kill)
		save
		kill -KILL "$pid"
		within $PATIENCE "end of slurmctld" off "$pid"
		;;
	start)
		if [[ $pid ]] && ! off "$pid"; then
			kill -CONT "$pid"
			return
		fi
		slurmctld -i >>$WORLD/slurmctld.out 2>&1 </dev/null
		within $PATIENCE "slurmctld" listens 6817
		;;
	*) die "want: controller stop|start|kill" ;;
	esac
}

# ---- A node -----------------------------------------------------------------

# start_node starts a node's init, which is power on; the end of it is power off.
start_node() {
	rm -f "$WORLD/nodes/$1.up"
	nsenter --net="/run/netns/$1" \
		setsid unshare --mount --uts --ipc --pid --fork --mount-proc --kill-child=SIGKILL \
		bash $WORLD/world.sh node "$1" >>"$WORLD/nodes/$1.out" 2>&1 </dev/null &
	echo $! >"$WORLD/nodes/$1.power"
	disown
}

# node is the init of a node.
node() {
	local i type
	i=$(number "$1")
	hostname "$1"
	mount -t tmpfs -o mode=1777 local /var/tmp
	mount -t tmpfs -o mode=1777 shm /dev/shm
	printf '%s\n' "link set lo up" "addr replace $NET.1.$i/16 dev eth0" "addr replace $FAST.1.$i/16 dev ib0" \
		"link set eth0 up" "link set ib0 up" | ip -batch -
	if [[ ! -e $WORLD/keys/$1.known ]]; then
		for type in ed25519 ecdsa; do
			ssh-keygen -q -t $type -N '' -C "$1" -f "$WORLD/keys/$1.$type"
			sed "s/^/$1,$NET.1.$i /" "$WORLD/keys/$1.$type.pub" >>"$WORLD/keys/$1.new"
		done
		mv "$WORLD/keys/$1.new" "$WORLD/keys/$1.known"
	fi
	sed "s/NODE/$1/" $WORLD/sshd_config >"$WORLD/nodes/$1.sshd_config"
	mkdir -p "$WORLD/spool/$1"
	[[ -p $WORLD/nodes/$1.never ]] || mkfifo "$WORLD/nodes/$1.never"
	env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin /usr/sbin/sshd -f "$WORLD/nodes/$1.sshd_config"
	env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin slurmd -N "$1"
	# Not <(:): if that ends at the wrong moment, bash waits for it for ever.
	local never
	exec {never}<>"$WORLD/nodes/$1.never"
	: >"$WORLD/nodes/$1.up"
	while :; do read -r -u "$never" || :; done # bash reaps while it waits
}

# pid prints the init of a node that is on. Its parent is what keeps it alive.
pid() {
	local power child=
	power=$(<"$WORLD/nodes/$1.power")
	read -r child _ 2>/dev/null <"/proc/$power/task/$power/children" || [[ $child ]] || die "$1 is off"
	echo "$child"
}

# members prints the processes of a node that are not stopped or dead.
members() {
	local space link p state
	space=$(readlink "/proc/$(pid "$1")/ns/pid")
	for link in /proc/[0-9]*/ns/pid; do
		[[ $(readlink "$link") == "$space" ]] || continue
		p=${link#/proc/}
		p=${p%%/*}
		state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$p/status" 2>/dev/null) || continue
		[[ $state == [$2] ]] || echo "$p"
	done
}

# wire sets both links of a node up or down at the head's side.
wire() {
	local i
	i=$(number "$1")
	printf 'link set %s %s\n' "e$i" "$2" "f$i" "$2" | ip -batch -
}

# off PID: whether the process has ended. It may vanish between the questions.
off() { grep -qs '^State:.*Z' "/proc/$1/status" || ! [[ -e /proc/$1 ]]; }

crash() {
	local power init
	power=$(<"$WORLD/nodes/$1.power")
	init=$(pid "$1")
	wire "$1" down # a machine without power refuses nothing
	kill -KILL "$power"
	within $PATIENCE "end of $1" off "$power"
	within $PATIENCE "end of $1" off "$init" # the last process of its namespace
}

boot() {
	local power
	power=$(<"$WORLD/nodes/$1.power")
	off "$power" || die "$1 is on"
	wire "$1" up
	start_node "$1"
	within $PATIENCE "daemons of $1" test -e "$WORLD/nodes/$1.up"
	within $PATIENCE "sshd on $1" probe "$1"
}

# probe NODE: whether its sshd can be reached.
probe() { timeout 10 bash -c "read -r < /dev/tcp/$1/22"; }

freeze() { within $PATIENCE "stop of $1" stopped "$1"; }

stopped() {
	local all
	all=$(members "$1" TtZX)
	[[ -z $all ]] && return
	# shellcheck disable=SC2086 # words
	kill -STOP $all 2>/dev/null || :
	return 1
}

thaw() {
	local all
	all=$(members "$1" ZX)
	# shellcheck disable=SC2086 # words
	kill -CONT $all
}

unplug() { wire "$1" down; }
plug() { wire "$1" up; }

# The text of this script, to be started again in other namespaces.
if [[ -n ${BASH_EXECUTION_STRING:-} ]]; then TEXT=$BASH_EXECUTION_STRING; else TEXT=$(<"$0"); fi

case ${1:-} in
run | inside | node | crash | boot | freeze | thaw | unplug | plug | controller | pid) "$@" ;;
*) die "want: run N CMD..., or on the head: crash|boot|freeze|thaw|unplug|plug NODE, controller stop|start|kill" ;;
esac
